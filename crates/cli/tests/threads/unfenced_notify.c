// Who waits counts itself first and looks then; who wakes stores and then looks whether anybody is counted: with nothing between the store and the look
// the wake-up is lost (`std::atomic::notify_one` of libstdc++ 12 after a store with release: docs/found.md).
// check: --checks crash
// exit: 100
// finds: deadlock
// check: --checks crash --model sc
// exit: 0
// check: --checks crash -DFENCED
// exit: 0
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int word, waiters;

static void wait_while_zero(void) {
    atomic_fetch_add(&waiters, 1);
    while (atomic_load(&word) == 0)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
    atomic_fetch_sub_explicit(&waiters, 1, memory_order_release);
}

static void notify(void) {
#ifdef FENCED
    atomic_thread_fence(memory_order_seq_cst);
#endif
    if (atomic_load(&waiters) != 0)
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
}

static void *waiter(void *nothing) {
    wait_while_zero();
    assert(atomic_load(&word) == 1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    atomic_store_explicit(&word, 1, memory_order_release);
    notify();
    return pthread_join(thread, NULL);
}
