// What libraries do is told where the program calls them; their own members and counts are left out.
// check: --checks data-races
// exit: 100
// finds: data-race data race on `cxx_named.cc:29 Entry->data[1]`
// finds: data-race data race on `cxx_named.cc:30 Box<long>->value`
// finds: data-race data race on `app::cache.hits_`
#include <memory>
#include <mutex>
#include <thread>
struct Entry {
  int key = 0;
  int data[3] = {};
};
template <class T> struct Box {
  T value{};
};
struct Cache {
  std::mutex lock_;
  int hits_ = 0;
  void hit() {
    std::lock_guard<std::mutex> held(lock_);
    hits_++;
  }
};
namespace app {
Cache cache;
}
int main() {
  auto entry = std::make_shared<Entry>();
  auto box = std::make_unique<Box<long>>();
  std::thread other([entry, &box] {
    entry->data[1] = 1;
    box->value++;
    app::cache.hit();
  });
  entry->data[1] = 2;
  box->value = 3;
  app::cache.hits_ = 4;
  other.join();
}
