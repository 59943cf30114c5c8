// Conditions made of "deschedule, unless somebody has said no" and "make runnable": who was told no before it slept may be made runnable in its next wait.
// check:
// exit: 0
// check: -DWAKES_ANYBODY
// exit: 100
// finds: assertion `second_came` is false
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

/* What a kernel has: a thread that sleeps, and calls that look at it in one step. */
static pthread_mutex_t kernel = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t runs = PTHREAD_COND_INITIALIZER;
static int asleep;

static void deschedule(const int *no) {
  pthread_mutex_lock(&kernel);
  if (!*no) {
    asleep = 1;
    while (asleep)
      pthread_cond_wait(&runs, &kernel);
  }
  pthread_mutex_unlock(&kernel);
}

static void say(int *no) {
  pthread_mutex_lock(&kernel);
  *no = 1;
  pthread_mutex_unlock(&kernel);
}

static void make_runnable(void) {
  pthread_mutex_lock(&kernel);
  asleep = 0;
  pthread_cond_signal(&runs);
  pthread_mutex_unlock(&kernel);
}

/* One thread waits, for one condition after the other. */
struct condition {
  int no;
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct condition first, second;
static int first_came, second_came;

static int is_told(struct condition *condition) {
  pthread_mutex_lock(&kernel);
  int told = condition->no;
  pthread_mutex_unlock(&kernel);
  return told;
}

static void wait(struct condition *condition) {
  pthread_mutex_unlock(&mutex);
#ifdef WAKES_ANYBODY
  deschedule(&condition->no);
#else
  while (!is_told(condition))
    deschedule(&condition->no);
#endif
  pthread_mutex_lock(&mutex);
}

static void wake(struct condition *condition) {
  say(&condition->no);
  make_runnable();
}

static void *signals(void *which) {
  pthread_mutex_lock(&mutex);
  *(which == &first ? &first_came : &second_came) = 1;
  pthread_mutex_unlock(&mutex);
  wake(which);
  return 0;
}

int main(void) {
  pthread_t one, other;
  pthread_create(&one, 0, signals, &first);
  pthread_mutex_lock(&mutex);
  if (!first_came)
    wait(&first);
  assert(first_came);
  pthread_create(&other, 0, signals, &second);
  if (!second_came) {
    wait(&second);
    assert(second_came);
  }
  pthread_mutex_unlock(&mutex);
  pthread_join(one, 0);
  pthread_join(other, 0);
  (void)is_told;
  return 0;
}
