// Who catches an exception is not looked at: where one may be thrown, nothing is proved beyond.
#include <atomic>
#include <cassert>
#include <stdexcept>
#include <thread>

static std::atomic<int> given{0};

int main() {
  std::thread other([] { given = 1; });
  int seen = given;
  other.join();
#ifdef THROWS
  if (seen == 1)
    throw std::logic_error("too early");
#else
  if (seen > 1)
    throw std::logic_error("cannot be");
#endif
  assert(given == 1);
}
