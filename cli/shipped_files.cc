#include "cli/shipped_files.h"

#include <cstdlib>

#include "runtime/files/atomic_file.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

/// The folder of data files near the program; empty if there is none.
std::filesystem::path data_near_program() {
  auto folder = runtime::current_executable().parent_path();
  for (int up = 0; up < 4 && folder.has_relative_path(); ++up, folder = folder.parent_path()) {
    for (const char* place : {"data", "share/rulemill"}) {
      if (std::filesystem::is_directory(folder / place / "operators")) return folder / place;
    }
  }
  return {};
}

}  // namespace

std::filesystem::path data_folder() {
  if (const char* given = std::getenv("RULEMILL_DATA")) return given;
  if (const auto found = data_near_program(); !found.empty()) return found;
  throw runtime::UsageError("--definitions", "no operator definitions near " + runtime::current_executable().string() +
                                                 "; give --definitions DIR or set RULEMILL_DATA");
}

std::filesystem::path shipped_folder(const std::string& name) {
  for (const std::filesystem::path& data : {data_folder(), data_near_program()}) {
    for (const std::filesystem::path& place : {data / name, data.parent_path() / name}) {
      if (!data.empty() && std::filesystem::is_directory(place)) return place;
    }
  }
  return data_folder().parent_path() / name;
}

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
