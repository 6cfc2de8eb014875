// Whether this build has AddressSanitizer. Its shadow memory takes terabytes of address space, so that address space
// cannot be limited.
#pragma once

namespace rulemill::runtime {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool has_address_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool has_address_sanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool has_address_sanitizer = false;
#endif

}  // namespace rulemill::runtime
