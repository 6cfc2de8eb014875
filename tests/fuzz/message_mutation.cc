// Changes fields of any protobuf by reflection. The result is a well-formed message with arbitrary content.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <limits>
#include <memory>

#include "tests/fuzz/mutation.h"

namespace rulemill::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// Appends a message and all messages in it.
void collect(Message& message, std::vector<Message*>& all) {
  all.push_back(&message);
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      collect(*reflection.MutableMessage(&message, field), all);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      collect(*reflection.MutableRepeatedMessage(&message, field, i), all);
    }
  }
}

std::int64_t random_number(std::mt19937_64& random) {
  static constexpr std::int64_t boundary_values[] = {0,
                                                     1,
                                                     2,
                                                     -1,
                                                     -2,
                                                     3,
                                                     7,
                                                     64,
                                                     255,
                                                     65536,
                                                     1LL << 31,
                                                     1LL << 32,
                                                     1LL << 61,
                                                     std::numeric_limits<std::int64_t>::max(),
                                                     std::numeric_limits<std::int64_t>::min()};
  return boundary_values[random() % std::size(boundary_values)];
}

std::string mutated_text(const std::string& old, std::mt19937_64& random) {
  switch (random() % 6) {
    case 0:
      return "";
    case 1:
      return old + old;
    case 2:
      return old.substr(0, old.size() / 2);
    case 3:
      return std::string(random() % 2 == 0 ? 9 : 50000, '(');
    case 4:
      return std::to_string(random_number(random));
    default: {
      std::string text = old;
      if (!text.empty()) text[random() % text.size()] = static_cast<char>(random() % 128);
      return text;
    }
  }
}

/// Sets one value of a field; if the field is repeated, sets or adds one.
void set_value(Message& message, const FieldDescriptor* field, std::mt19937_64& random) {
  const Reflection& reflection = *message.GetReflection();
  const bool is_repeated = field->is_repeated();
  const int size = is_repeated ? reflection.FieldSize(message, field) : 0;
  const bool exists = size > 0 && random() % 3 != 0;
  const int at = exists ? static_cast<int>(random() % static_cast<std::uint64_t>(size)) : 0;
  const std::int64_t value = random_number(random);
#define RM_FIELD(Kind, argument)                                                      \
  is_repeated ? (exists ? reflection.SetRepeated##Kind(&message, field, at, argument) \
                        : reflection.Add##Kind(&message, field, argument))            \
              : reflection.Set##Kind(&message, field, argument)
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      RM_FIELD(Int32, static_cast<std::int32_t>(value));
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      RM_FIELD(UInt32, static_cast<std::uint32_t>(value));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      RM_FIELD(Int64, value);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      RM_FIELD(UInt64, static_cast<std::uint64_t>(value));
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      RM_FIELD(Float, static_cast<float>(value));
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      RM_FIELD(Double, static_cast<double>(value));
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      RM_FIELD(Bool, value % 2 == 0);
      break;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* type = field->enum_type();
      const auto* chosen = type->value(static_cast<int>(random() % static_cast<std::uint64_t>(type->value_count())));
      RM_FIELD(Enum, chosen);
      break;
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string old;
      if (exists) old = reflection.GetRepeatedString(message, field, at);
      if (!is_repeated) old = reflection.GetString(message, field);
      RM_FIELD(String, mutated_text(old, random));
      break;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (is_repeated)
        reflection.AddMessage(&message, field);
      else
        reflection.MutableMessage(&message, field);
      break;
  }
#undef RM_FIELD
}

/// Clears a field, or removes, swaps or duplicates a value of a repeated field.
void rearrange(Message& message, const FieldDescriptor* field, std::mt19937_64& random) {
  const Reflection& reflection = *message.GetReflection();
  const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
  if (size == 0) return reflection.ClearField(&message, field);
  const int at = static_cast<int>(random() % static_cast<std::uint64_t>(size));
  switch (random() % 3) {
    case 0:
      reflection.RemoveLast(&message, field);
      break;
    case 1:
      reflection.SwapElements(&message, field, at, size - 1);
      break;
    default:
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) break;
      reflection.AddMessage(&message, field)->CopyFrom(reflection.GetRepeatedMessage(message, field, at));
  }
}

void change_field(Message& root, const std::vector<std::unique_ptr<Message>>& donors, std::mt19937_64& random) {
  std::vector<Message*> all;
  collect(root, all);
  Message& message = *all[random() % all.size()];
  if (random() % 8 == 0) {  // take the content of another message of the same type
    std::vector<Message*> others;
    for (const auto& donor : donors) collect(*donor, others);
    Message& other = *others[random() % others.size()];
    if (&other != &message && other.GetDescriptor() == message.GetDescriptor()) message.CopyFrom(other);
    return;
  }
  const auto* type = message.GetDescriptor();
  if (type->field_count() == 0) return;
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  const bool known = !fields.empty() && random() % 4 != 0;
  const FieldDescriptor* field =
      known ? fields[random() % fields.size()]
            : type->field(static_cast<int>(random() % static_cast<std::uint64_t>(type->field_count())));
  if (random() % 3 == 0)
    rearrange(message, field, random);
  else
    set_value(message, field, random);
}

}  // namespace

std::string change_fields(const std::string& bytes, const std::string& message, std::mt19937_64& random) {
  const auto* type = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(message);
  if (type == nullptr) return bytes;
  const Message* prototype = google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
  const std::unique_ptr<Message> parsed(prototype->New());
  if (!parsed->ParsePartialFromString(bytes)) return bytes;
  std::vector<std::unique_ptr<Message>> donors;
  donors.emplace_back(prototype->New())->CopyFrom(*parsed);
  for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) change_field(*parsed, donors, random);
  std::string result;
  parsed->SerializePartialToString(&result);
  return result;
}

}  // namespace rulemill::fuzz
