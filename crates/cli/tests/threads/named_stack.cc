// What threads capture of main by reference has its name: elements of arrays, members, members of templates, with and without
// optimisation.
// check: -std=c++20
// exit: 100
// finds: assertion `c.total.value == 2` is false
// finds: data-race data race on `forks[2]`: thread 1 writes it
// finds: data-race data race on `c.total.value`: thread 1 writes it
// row: thread 1 writes c.total.value
// row: thread 2 reads and writes c.total.value with c.total.m locked
// row: thread 2 reads c.total.value, unordered
// check: -std=c++20 -O1
// exit: 100
// finds: data-race data race on `forks[2]`: thread 1 writes it
// finds: data-race data race on `c.total.value`: thread 1 writes it
// check: -std=c++20 -O2
// exit: 100
// finds: data-race data race on `forks[2]`: thread 1 writes it
// finds: data-race data race on `c.total.value`: thread 1 writes it
// check: -std=c++20 -O3
// exit: 100
// finds: data-race data race on `forks[2]`: thread 1 writes it
// finds: data-race data race on `c.total.value`: thread 1 writes it

#include <cassert>
#include <mutex>
#include <thread>

template <class T> struct Box {
    T value{};
    std::mutex m;
};

struct Counters {
    int calls = 0;
    Box<long> total;
};

int main() {
    Counters c;
    int forks[3] = {0, 0, 0};
    std::thread a([&] {
        forks[2] = 1;
        c.total.value++;
    });
    std::thread b([&] {
        forks[2] = 2;
        std::lock_guard g(c.total.m);
        c.total.value++;
    });
    a.join();
    b.join();
    assert(c.total.value == 2);
}
