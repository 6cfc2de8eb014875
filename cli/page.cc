#include "cli/page.h"

#include "cli/shipped_files.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

void replace_mark(std::string& page, const std::string& mark, const std::string& text) {
  const std::size_t place = page.find(mark);
  if (place == std::string::npos) throw runtime::InputError("pages/page.html", "has no mark " + mark);
  page.replace(place, mark.size(), text);
}

/// JSON that cannot end a script element.
std::string in_script(const runtime::Json& json) {
  std::string text = runtime::to_utf8_text(json);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace

std::size_t write_page(const std::filesystem::path& path, const std::string& name, const runtime::Json& data) {
  const std::filesystem::path folder = shipped_folder("pages");
  std::string page = runtime::read_file(folder / "page.html");
  replace_mark(page, "\"STYLE\";", runtime::read_file(folder / "style.css"));
  replace_mark(page, "\"SCRIPT\";", runtime::read_file(folder / (name + ".js")));
  replace_mark(page, "\"SHARED\";", runtime::read_file(folder / "layout.js") + runtime::read_file(folder / "page.js"));
  replace_mark(page, "\"DATA\"", in_script(data));
  runtime::write_file(path, page);
  return page.size();
}

}  // namespace rulemill::cli
