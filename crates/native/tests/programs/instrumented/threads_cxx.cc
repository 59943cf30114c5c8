/* run: --threads - */
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::mutex lock;
static std::condition_variable changed;
static bool go;
static std::shared_mutex shared;
static std::once_flag once;

struct Local {
    int value = 1;
    ~Local() { puts("thread-local destroyed"); }
};
static thread_local Local local;

static int lazily() {
    static int value = [] { return 42; }();
    return value;
}

int main() {
    std::latch done(3);
    std::counting_semaphore<4> finished(0);
    std::barrier together(2);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([&, i] {
            local.value = i;
            {
                std::unique_lock held(lock);
                changed.wait(held, [] { return go; });
            }
            { std::shared_lock held(shared); }
            std::call_once(once, [] { puts("once"); });
            try {
                throw std::runtime_error("thrown");
            } catch (const std::exception &error) {
                printf("%s %d\n", error.what(), lazily());
            }
            done.count_down();
            finished.release();
            together.arrive_and_wait();
        });
    {
        std::lock_guard held(lock);
        go = true;
    }
    changed.notify_all();
    done.arrive_and_wait();
    finished.acquire();
    finished.acquire();
    for (auto &thread : threads)
        thread.join();
    printf("%d\n", std::async(std::launch::async, [] { return 5; }).get());
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread other([&] { promise.set_value(9); });
    printf("%d\n", future.get());
    other.join();
}
