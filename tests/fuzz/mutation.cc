#include "tests/fuzz/mutation.h"

#include <algorithm>

namespace rulemill::fuzz {
namespace {

constexpr std::size_t max_input_length = std::size_t{1} << 20;

/// Replacements of numbers in text.
const std::vector<std::string> boundary_values = {"0",
                                                  "-1",
                                                  "1",
                                                  "2",
                                                  "255",
                                                  "65536",
                                                  "2147483648",
                                                  "4294967296",
                                                  "9223372036854775807",
                                                  "-9223372036854775808",
                                                  "18446744073709551616",
                                                  "99999999999999999999999999",
                                                  "1e999",
                                                  "nan",
                                                  "0.5"};

std::size_t random_below(std::size_t bound, std::mt19937_64& random) { return bound == 0 ? 0 : random() % bound; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Replaces a number of the text, if it has any.
void change_number(std::string& text, std::mt19937_64& random) {
  std::size_t at = random_below(text.size(), random);
  while (at < text.size() && !is_digit(text[at])) ++at;
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end > at) text.replace(at, end - at, boundary_values[random_below(boundary_values.size(), random)]);
}

/// Returns a piece of text repeated up to 100,000 times: opening brackets, a long word, a long list.
std::string repeated_piece(std::mt19937_64& random) {
  static const std::vector<std::string> pieces = {"(",   "[",  "{",   "-",    "((", "a",       "9",  "x+",
                                                  "x, ", "f(", "if ", "[[1,", "[",  "{\"a\":", "\t", "min(1, "};
  const std::string& piece = pieces[random_below(pieces.size(), random)];
  static constexpr std::size_t counts[] = {20, 300, 5000, 100000};
  std::string text;
  const std::size_t count = counts[random_below(std::size(counts), random)];
  text.reserve(piece.size() * count);
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

}  // namespace

Mutation::Mutation(const Parser& parser, std::vector<std::string> corpus)
    : parser_(parser), corpus_(std::move(corpus)) {}

std::string Mutation::token(std::mt19937_64& random) const {
  if (parser_.dictionary.empty()) return std::string(1, static_cast<char>(random() % 256));
  return parser_.dictionary[random_below(parser_.dictionary.size(), random)];
}

/// Returns the bytes with one change.
std::string Mutation::mutated(std::string text, std::mt19937_64& random) const {
  const std::size_t at = random_below(text.size(), random);
  const std::size_t length =
      std::min<std::size_t>(1 + random_below(std::size_t{1} << random_below(7, random), random), text.size() - at);
  switch (random() % 12) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(random_below(text.size() + 1, random), text.substr(at, length));
      break;
    case 2:
      if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
      break;
    case 3:
      if (!text.empty()) text[at] = static_cast<char>(random() % 256);
      break;
    case 4:
      text.resize(at);
      break;
    case 5:
    case 6:
      text.insert(at, " " + token(random) + " ");
      break;
    case 7:
      text.replace(at, length, token(random));
      break;
    case 8:
    case 9:
      change_number(text, random);
      break;
    case 10: {
      const std::string& other = corpus_[random_below(corpus_.size(), random)];
      text = text.substr(0, at) + other.substr(random_below(other.size(), random));
      break;
    }
    default:
      if (random() % 8 == 0) text.insert(at, repeated_piece(random));
  }
  return text;
}

std::string Mutation::input(std::uint64_t seed) const {
  if (seed < corpus_.size()) return corpus_[seed];
  std::mt19937_64 random(seed);
  std::string text = corpus_[random_below(corpus_.size(), random)];
  if (!parser_.message.empty() && random() % 4 != 0) {
    text = change_fields(text, parser_.message, random);
  } else {
    for (std::size_t edits = 1 + random_below(4, random); edits > 0; --edits) text = mutated(std::move(text), random);
  }
  if (text.size() > max_input_length) text.resize(max_input_length);
  return parser_.seal != nullptr && random() % 4 != 0 ? parser_.seal(text) : text;
}

}  // namespace rulemill::fuzz
