// What a library does to an object that threads share, and that it has no lock for, is not seen: then not everything was tried.
// check:
// exit: 5
// limit: unseen
// note: `std::ostream::operator<<(int)`
// check: --checks crash
// exit: 5
// limit: unseen
// check: -DLOCKED
// exit: 0
// check: -DOWN
// exit: 0
// check: -DPRINTED
// exit: 0
// check: -DMIXED
// exit: 100
// finds: data-race on `shared
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>
static std::ostringstream shared;
static std::mutex lock;
static void put(int number) {
#ifdef LOCKED
  std::lock_guard<std::mutex> held(lock);
#endif
#ifdef OWN
  std::ostringstream stream;
  stream << number << " is a number\n";
#elif defined PRINTED
  std::cout << number << " is a number\n";
#else
  shared << number << ".";
#endif
}
int main() {
#ifdef MIXED
  // One thread looks, one writes; what copies the text is a function that the runtime has, whoever calls it.
  std::thread a(put, 1), b([] { (void)shared.str(); });
#else
  std::thread a(put, 1), b(put, 2);
#endif
  a.join();
  b.join();
  return 0;
}
