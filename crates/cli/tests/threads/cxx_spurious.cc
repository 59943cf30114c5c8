// C++ says it in its own words: with a predicate it looks again.
// check: --checks crash
// exit: 100
// finds: assertion `ready` is false
// note: ends for no reason
// check: --checks crash -DPREDICATE
// check: --checks crash -DPREDICATE -O2
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;
static bool ready;

int main() {
    std::thread waiter([] {
        std::unique_lock<std::mutex> held(lock);
#ifdef PREDICATE
        changed.wait(held, [] { return ready; });
#else
        if (!ready)
            changed.wait(held);
#endif
        assert(ready);
    });
    {
        std::lock_guard<std::mutex> held(lock);
        ready = true;
        changed.notify_one();
    }
    waiter.join();
}
