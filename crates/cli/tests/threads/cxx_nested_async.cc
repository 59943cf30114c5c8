// Threads that create threads, at the same time: which of them has which number depends on the schedule.
// check: --model tso
// exit: 0
#include <atomic>
#include <cassert>
#include <future>
#include <thread>

static std::atomic<int> sum;

static int add(int i) {
    sum += i;
    return i;
}

static void ask(int i) {
    auto answer = std::async(std::launch::async, add, i);
    assert(answer.get() == i);
}

int main() {
    std::thread a(ask, 1), b(ask, 2);
    a.join();
    b.join();
    assert(sum == 3);
}
