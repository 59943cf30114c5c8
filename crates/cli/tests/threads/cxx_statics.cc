// A local static is made once; whoever looks at its guard, in compiled code, finds all of it.
// check:
// exit: 0
// check: --model sc --preempt everywhere
// exit: 0
#include <cassert>
#include <thread>

struct Seven {
    int value;
    Seven() { value = 7; }
};

static int seven() {
    static Seven it;
    return it.value;
}

int main() {
    std::thread a([] { assert(seven() == 7); }), b([] { assert(seven() == 7); });
    assert(seven() == 7);
    a.join();
    b.join();
}
