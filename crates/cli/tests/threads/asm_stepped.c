// Assembly that is not taken apart goes on instruction by instruction: others come between, and what it does is seen. Loops in it wait.
// also: --equivalence reads
// check: --checks crash -DADC
// exit: 100
// finds: assertion `x == 2` is false
// check: --checks crash -DADC -O2
// exit: 100
// finds: assertion `x == 2` is false
// check: --checks crash -DADC -DLOCK=1
// check: --checks crash -DADC -DLOCK=1 --model sc
// check: --checks crash -DSHIFT
// exit: 100
// finds: assertion `x == 4` is false
// check: --checks crash -DSHIFT -DMUTEX
// check: --checks crash -DMOVS
// exit: 100
// finds: assertion
// check: --checks crash -DMOVS -O2
// exit: 100
// finds: assertion
// check: --checks crash -DMOVS -DMUTEX
// check: --checks crash -DSTOS
// exit: 100
// finds: assertion
// check: --checks crash -DSTOS -DMUTEX
// check: -DSTOS
// exit: 100
// finds: data-race
// check: --checks crash -DSPIN
// check: --checks crash -DSPIN -O2
// check: --checks crash -DSPIN -DNO_FENCE
// exit: 100
// finds: assertion `!(inside[0] && inside[1])` is false
// check: --checks crash -DSPIN -DNOBODY
// exit: 100
// finds: deadlock livelock
// check: --checks crash -DBUFFERS
// exit: 100
// finds: assertion `seen[0] || seen[1]` is false
// check: --checks crash -DBUFFERS -DFENCED
// check: --checks crash -DBUFFERS --model sc
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef LOCK
#define LOCK 0
#endif
#if LOCK
#define PREFIX "lock; "
#else
#define PREFIX
#endif

static int x
#ifdef SHIFT
    = 1
#endif
    ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned char text[2][4] = {{1, 1, 1, 1}, {2, 2, 2, 2}}, target[4];
static int word, inside[2], seen[2], flags[2];
#ifdef NOBODY
static int held = 1;
#else
static int held;
#endif

static void *work(void *argument) {
  long me = (long)argument;
#ifdef MUTEX
  pthread_mutex_lock(&mutex);
#endif
#if defined ADC
  __asm__ volatile("stc; " PREFIX "adcl $0, %0" : "+m"(x) : : "memory", "cc");
#elif defined SHIFT
  __asm__ volatile("shll %%cl, %0" : "+m"(x) : "c"(1) : "memory", "cc");
#elif defined MOVS
  void *to = target, *from = text[me];
  long count = 4;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
  assert(to == target + 4 && from == text[me] + 4 && count == 0);
#elif defined STOS
  void *to = target;
  long count = 4;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(me + 1) : "memory");
#elif defined SPIN
  // A lock whose loop is assembly.
#ifdef NO_FENCE
  __asm__ volatile("1: pause; cmpl $0, %0; jne 1b; movl $1, %0" : "+m"(held) : : "memory", "cc");
#else
  __asm__ volatile("1: movl $1, %%eax; xchgl %%eax, %0; testl %%eax, %%eax; je 3f; 2: pause; cmpl $0, %0; jne 2b; jmp 1b; 3:"
                   : "+m"(held)
                   :
                   : "eax", "memory", "cc");
#endif
  __atomic_store_n(&inside[me], 1, __ATOMIC_SEQ_CST);
  assert(!(inside[0] && inside[1]));
  __atomic_store_n(&inside[me], 0, __ATOMIC_SEQ_CST);
  __asm__ volatile("andl $0, %0; adcl $0, %0" : "+m"(held) : : "memory", "cc");
#elif defined BUFFERS
#ifdef FENCED
#define FENCE "mfence; "
#else
#define FENCE
#endif
  __asm__ volatile("stc; movl $1, (%1); " FENCE "movl (%2), %0; adcl $0, %0; subl $1, %0"
                   : "=&r"(seen[me])
                   : "r"(&flags[me]), "r"(&flags[!me])
                   : "memory", "cc");
#endif
#ifdef MUTEX
  pthread_mutex_unlock(&mutex);
#endif
  return argument;
}

int main(void) {
  pthread_t threads[2];
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, work, (void *)i);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
#if defined ADC
  assert(x == 2);
#elif defined SHIFT
  assert(x == 4);
#elif defined MOVS || defined STOS
  assert(target[0] == target[1] && target[1] == target[2] && target[2] == target[3] && target[0]);
#elif defined BUFFERS
  assert(seen[0] || seen[1]);
#endif
  return 0;
}
