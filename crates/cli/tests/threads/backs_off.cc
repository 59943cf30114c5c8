// Whoever waits for a lock, and pauses longer each time, waits: how long it paused is nobody's business.
// check: --checks crash
// exit: 0
// schedules: 6
// check: --checks crash -O2
// exit: 0
// schedules: 6
// check: --checks crash -DYIELDS
// exit: 0
// schedules: 6
// check: --checks crash -DYIELDS -O2
// exit: 0
// schedules: 6
// Where the length decides something else, it is tried up to its bound.
// check: --checks crash -DGIVES_UP
// exit: 100
// finds: assertion `count == 3` is false
// check: --checks crash -DNO_LOCK
// exit: 100
// finds: assertion `count == 3` is false
#include <atomic>
#include <cassert>
#include <thread>

class Lock {
    std::atomic<bool> held{false};

  public:
    bool acquire() {
        int delay = 1;
#ifdef NO_LOCK
        while (held.load()) {
#else
        while (held.exchange(true, std::memory_order_acquire)) {
#endif
#ifdef GIVES_UP
            if (delay >= 8)
                return false;
#endif
#ifdef YIELDS
            if (delay < 64) {
                __builtin_ia32_pause();
                delay *= 2;
            } else {
                std::this_thread::yield();
            }
#else
            for (int i = 0; i < delay; i++)
                __builtin_ia32_pause();
            if (delay < 1024)
                delay <<= 1;
#endif
        }
        return true;
    }
    void release() { held.store(false, std::memory_order_release); }
};

int main() {
    Lock lock;
    int count = 0;
    std::thread threads[3];
    for (auto &thread : threads)
        thread = std::thread([&] {
            if (lock.acquire()) {
                count++;
                lock.release();
            }
        });
    for (auto &thread : threads)
        thread.join();
    assert(count == 3);
}
