// Notices that another rank is gone: killed, out of memory, its node failed. The ranks are joined by sockets in a tree;
// a connection that ends without a good-bye ends this process, and so all of them, with the exit code of a run that can
// go on. A launcher may leave the others waiting for ever in a collective; MPI itself says nothing. A rank that is only
// slow or stopped is waited for.
#pragma once

#include <memory>

namespace rulemill::runtime {

class Communicator;

class PeerWatch {
 public:
  /// Collective. Where ranks cannot reach each other, those links are left out: the launcher has to notice then.
  explicit PeerWatch(const Communicator& world);
  /// Says good-bye.
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// The others end with this code, and without a word: this rank has said why.
  void end_others(int exit_code);
  /// Links that this rank has.
  std::size_t links() const;

 private:
  struct Links;
  std::unique_ptr<Links> links_;
};

}  // namespace rulemill::runtime
