// What containers leave to libstdc++'s shared library is done by code that is seen: trees of maps and sets, lists.
// check: --checks data-races -DMAP
// exit: 100
// finds: data-race
// check: --checks data-races -DSET
// exit: 100
// finds: data-race
// check: --checks data-races -DLIST
// exit: 100
// finds: data-race
// check: --checks data-races -DHASHED
// exit: 100
// finds: data-race
// check: -DMAP -DLOCKED
// exit: 0
// check: -DSET -DLOCKED
// exit: 0
// check: -DLIST -DLOCKED
// exit: 0
// check: -DHASHED -DLOCKED
// exit: 0
// check: -DMANY
// exit: 0
#include <cassert>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
static std::mutex lock;
#ifdef MAP
static std::map<int, int> shared;
static void put(int key) { shared[key] = key; }
static bool has(int key) { return shared.count(key) != 0; }
#elif defined SET
static std::set<int> shared;
static void put(int key) { shared.insert(key); }
static bool has(int key) { return !shared.empty() && *shared.begin() == key; }
#elif defined LIST
static std::list<int> shared;
static void put(int key) { shared.push_back(key); }
static bool has(int key) { return !shared.empty() && shared.front() == key; }
#elif defined HASHED
static std::unordered_map<int, int> shared;
static void put(int key) { shared[key] = key; }
static bool has(int key) { return shared.count(key) != 0; }
#endif
#ifdef MANY
// Containers do what they should, with one thread and with several that have one each.
static void fill(unsigned seed, int changes) {
  std::set<unsigned> numbers;
  std::list<unsigned> list;
  bool there[64] = {};
  unsigned count = 0;
  for (int i = 0; i < changes; i++) {
    seed = seed * 1103515245 + 12345;
    unsigned key = (seed >> 16) % 64;
    if (there[key]) {
      assert(numbers.erase(key) == 1);
      list.remove(key);
      count--;
    } else {
      assert(numbers.insert(key).second);
      list.push_front(key);
      count++;
    }
    there[key] = !there[key];
    unsigned seen = 0, next = 0;
    for (unsigned number : numbers) {
      assert(number >= next && there[number]);
      next = number + 1;
      seen++;
    }
    assert(seen == count && list.size() == count);
    for (auto at = numbers.rbegin(); at != numbers.rend(); ++at)
      seen--;
    assert(seen == 0);
  }
  list.sort();
  list.reverse();
  std::list<unsigned> other{1};
  list.swap(other);
  assert(list.size() == 1 && other.size() == count);
  unsigned before = 64;
  for (unsigned number : other) {
    assert(number < before && there[number]);
    before = number;
  }
}
#else
static void writes() {
#ifdef LOCKED
  std::lock_guard<std::mutex> held(lock);
#endif
  put(1);
}
static void reads() {
#ifdef LOCKED
  std::lock_guard<std::mutex> held(lock);
#endif
  (void)has(1);
}
#endif
int main() {
#ifdef MANY
  for (unsigned seed = 0; seed < 20; seed++)
    fill(seed, 1000);
  std::thread a(fill, 1, 6), b(fill, 2, 6);
#else
  std::thread a(writes), b(reads);
#endif
  a.join();
  b.join();
  return 0;
}
