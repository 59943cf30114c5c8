/* run: --threads - */
#include <assert.h>
#include <stdio.h>
#include <threads.h>

static mtx_t lock;
static int count;
static once_flag once = ONCE_FLAG_INIT;

static void initialise(void) { puts("once"); }

static int work(void *unused) {
    call_once(&once, initialise);
    mtx_lock(&lock);
    count++;
    mtx_unlock(&lock);
    thrd_yield();
    return 3;
}

int main(void) {
    thrd_t threads[2];
    mtx_init(&lock, mtx_plain);
    for (int i = 0; i < 2; i++)
        thrd_create(&threads[i], work, 0);
    for (int i = 0; i < 2; i++) {
        int result;
        thrd_join(threads[i], &result);
        assert(result == 3);
    }
    assert(count == 2);
    return 0;
}
