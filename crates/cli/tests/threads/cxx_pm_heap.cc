// With malloc in persistent memory, ids and states of std::thread lie there, too: what libstdc++ does to them is seen.
// check: --pm-heap --checks crash
// exit: 0
// check: --pm-heap --checks crash -DDETACHES
// exit: 0
// check: --pm-heap --checks crash -DFORGETS
// exit: 100
// finds: assertion `*value == 1` is false
#include <cassert>
#include <landfall.h>
#include <thread>
#include <vector>
static void store() {
    long *value = (long *)lf_root(0), *done = (long *)lf_root(8);
    *value = 1;
#ifndef FORGETS
    lf_persist(value, 8);
#endif
    *done = 1;
    lf_persist(done, 8);
}
int main() {
    long *value = (long *)lf_root(0), *done = (long *)lf_root(8);
    if (lf_failures()) {
        if (*done)
            assert(*value == 1);
        return 0;
    }
    std::vector<std::thread> threads;
    threads.emplace_back(store);
#ifdef DETACHES
    threads[0].detach();
#else
    threads[0].join();
#endif
    assert(!threads[0].joinable());
}
