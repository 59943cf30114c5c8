// A pool of workers in C++, whose tasks say what they came to by futures.
// check:
// schedules: 88
// check: -DMOVED
// schedules: 30
// check: -DTIMED -DMOVED
// exit: 0
// check: -DTIMED -DMOVED -DALWAYS
// exit: 100
// finds: assertion
// check: -DFORGOTTEN -DWORKERS=1
// exit: 100
// finds: deadlock
#include <cassert>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TASKS
#define TASKS 1
#endif
class Pool {
 public:
  explicit Pool(int workers) {
    for (int i = 0; i < workers; i++)
      workers_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> hold(lock_);
      stop_ = true;
    }
    changed_.notify_all();
    for (auto &worker : workers_)
      worker.join();
  }
  template <class F> std::future<int> submit(F f) {
    auto task = std::make_shared<std::packaged_task<int()>>(f);
    std::future<int> result = task->get_future();
    {
      std::lock_guard<std::mutex> hold(lock_);
#ifdef MOVED
      tasks_.emplace_back([task = std::move(task)] { (*task)(); });
#else
      tasks_.emplace_back([task] { (*task)(); });
#endif
    }
    changed_.notify_one();
    return result;
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock<std::mutex> hold(lock_);
        changed_.wait(hold, [this] { return stop_ || !tasks_.empty(); });
        if (tasks_.empty())
          return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
#ifdef FORGOTTEN
      static auto *kept = new std::deque<std::function<void()>>;
      kept->push_back(std::move(task));
#else
      task();
#endif
    }
  }
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};
int main() {
  Pool pool(WORKERS);
  std::future<int> results[TASKS];
  for (int i = 0; i < TASKS; i++)
    results[i] = pool.submit([i] { return i + 1; });
#ifdef TIMED
  // It may be too long, and it may not be.
  bool ready = results[0].wait_for(std::chrono::seconds(1)) == std::future_status::ready;
#ifdef ALWAYS
  assert(ready);
#else
  (void)ready;
#endif
#endif
  for (int i = 0; i < TASKS; i++)
    assert(results[i].get() == i + 1);
}
