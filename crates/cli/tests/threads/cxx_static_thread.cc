// A thread that a static initialiser starts, and a static destructor joins.
// check: --checks crash
// exit: 0
// check: --checks crash -DFAILS
// exit: 100
// finds: assertion `seen != 1` is false
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> value;

struct Worker {
    std::thread thread{[] { value.store(1); }};
    ~Worker() {
        thread.join();
        assert(value == 1);
    }
};
static Worker worker;

int main() {
    int seen = value.load();
#ifdef FAILS
    assert(seen != 1);
#endif
    return seen > 1;
}
