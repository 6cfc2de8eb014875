// The domain of PyTorch's operators in models and mappings.
#pragma once

namespace rulemill::algebra {

/// Mappings of this domain read nodes and never write them. Instances have them only in a library that is restricted to
/// domains among which it is (Library::restrict_domains).
inline constexpr const char* aten_domain = "aten";

}  // namespace rulemill::algebra
