// Read-modify-writes of assembly: without the lock each is a load and a store, and another thread may come between.
// check: --checks crash -DLOCK=
// exit: 100
// finds: assertion `x == 2` is false
// check: --checks crash -DLOCK=lock;
// check: --checks crash -DLOCK= -DADD
// exit: 100
// finds: assertion `x == 2` is false
// check: --checks crash -DLOCK=lock; -DADD
// check: --checks crash -DLOCK= -DINC -O2
// exit: 100
// finds: assertion `x == 2` is false
// check: --checks crash -DLOCK=lock; -DINC -O2
// check: --checks crash -DLOCK= -DBTS
// exit: 100
// finds: assertion `!(won[0] && won[1])` is false
// check: --checks crash -DLOCK=lock; -DBTS
// check: --checks crash -DLOCK= -DCMPXCHG
// exit: 100
// finds: assertion `!(won[0] && won[1])` is false
// check: --checks crash -DLOCK=lock; -DCMPXCHG
// check: --checks crash -DLOCK= -DPAIR -mcx16
// exit: 100
// finds: assertion `!(won[0] && won[1])` is false
// check: --checks crash -DLOCK=lock; -DPAIR -mcx16
// check: -DLOCK=
// exit: 100
// finds: data-race data race on `x`
#include <assert.h>
#include <pthread.h>

#define TEXT(text) #text
#define AS_TEXT(text) TEXT(text)
#define PREFIX AS_TEXT(LOCK)

static int x, won[2];
static __int128 pair __attribute__((aligned(16)));

static void *work(void *number) {
#if defined ADD
    __asm__ volatile(PREFIX "addl $1, %0" : "+m"(x) : : "memory");
#elif defined INC
    __asm__ volatile(PREFIX "incl %0" : "+m"(x) : : "memory");
#elif defined BTS
    unsigned char was;
    __asm__ volatile(PREFIX "btsl $0, %0; setc %1" : "+m"(x), "=r"(was) : : "memory");
    won[(long)number] = !was;
#elif defined PAIR
    unsigned long low = 0, high = 0;
    unsigned char equal;
    __asm__ volatile(PREFIX "cmpxchg16b %1; sete %0"
                     : "=q"(equal), "+m"(pair), "+a"(low), "+d"(high)
                     : "b"(1L), "c"(0L)
                     : "memory", "cc");
    won[(long)number] = equal;
#elif defined CMPXCHG
    int found = 0;
    __asm__ volatile(PREFIX "cmpxchgl %2, %1" : "+a"(found), "+m"(x) : "r"(1) : "memory");
    won[(long)number] = !found;
#else
    int by = 1;
    __asm__ volatile(PREFIX "xaddl %0, %1" : "+r"(by), "+m"(x) : : "memory");
#endif
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
#if defined BTS || defined CMPXCHG || defined PAIR
    assert(!(won[0] && won[1]));
#else
    assert(x == 2);
#endif
}
