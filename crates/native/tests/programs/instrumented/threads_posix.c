/* run: --threads - */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static __thread int mine = 7;
static int count, ready;

static void destroyed(void *value) { printf("destroyed %p\n", value); }

static void *work(void *argument) {
    long number = (long)argument;
    mine += number;
    pthread_setspecific(key, (void *)(0x100 + number));
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return (void *)(long)mine;
}

int main(void) {
    pthread_t threads[2];
    pthread_key_create(&key, destroyed);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    sched_yield();
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert((long)result == 7 + i);
    }
    assert(count == 4 && mine == 7);
    return 0;
}
