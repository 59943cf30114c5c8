// A thread's stores to its own stack wait in its store buffer while it returns, calls and is called: memory stays as it left it.
// check: --random 100
// exit: 5
// limit: random
// check: --random 100 -DWAITS
// exit: 5
// limit: random
// check: --random 100 --model sc -DWAITS
// exit: 5
// limit: random
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static std::condition_variable changed;
static int count;

static void work(int wanted) {
    std::unique_lock<std::mutex> held(lock);
#ifdef WAITS
    changed.wait(held, [&] { return count >= wanted; });
#endif
    count++;
    changed.notify_all();
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back(work, i);
    for (auto &thread : threads)
        thread.join();
    assert(count == 2);
}
