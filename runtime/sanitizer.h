// Whether this build has AddressSanitizer, whose shadow takes terabytes of address space: no limit on that can hold
// then.
#pragma once

namespace rulemill::runtime {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool address_sanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool address_sanitizer = false;
#endif

}  // namespace rulemill::runtime
