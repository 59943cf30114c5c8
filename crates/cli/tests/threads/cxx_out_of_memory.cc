// Where there is no memory `operator new` throws, and the program may catch that.
// check:
// exit: 0
#include <cassert>
#include <new>
#include <thread>

static void ask() {
    bool caught = false;
    try {
        *new char[1ull << 60] = 1;
    } catch (std::bad_alloc &) {
        caught = true;
    }
    assert(caught);
}

int main() {
    std::thread other(ask);
    ask();
    other.join();
}
