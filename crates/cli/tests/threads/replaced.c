// A lock that was checked is taken for granted in its clients: a mutex in its place. Critical sections are then single steps.
// check: --checks crash
// exit: 0
// check: --replace ticket=pthread_mutex
// exit: 0
// schedules: 3
// assumes: `ticket_lock` is as good as pthread_mutex_lock
// assumes: `ticket_unlock` is as good as pthread_mutex_unlock
// check: --replace ticket_lock=pthread_mutex_lock --replace ticket_unlock=pthread_mutex_unlock
// exit: 0
// schedules: 3
// check: --replace ticket=pthread_spin -DFORGETS
// exit: 100
// finds: data-race `x`
// check: --replace ticket=pthread_mutex -DTRIES
// exit: 0
// check: --replace ticket=pthread_mutex -DTWICE
// exit: 100
// finds: deadlock
// check: --replace ticket=pthread_mutex -O2
// exit: 0
// schedules: 3
// check: --replace tocket=pthread_mutex
// exit: 2
// says: no function that takes it
// check: --replace ticket=pthread_mutex -DNO_UNLOCK
// exit: 2
// says: no function that gives it back
// check: --replace ticket=semaphore
// exit: 2
// says: MINE=pthread_mutex
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
struct ticket {
  atomic_int next, now;
};
static struct ticket lock;
static int x;
static void ticket_lock(struct ticket *t) {
  int mine = atomic_fetch_add(&t->next, 1);
  while (atomic_load(&t->now) != mine)
    sched_yield();
}
#ifdef NO_UNLOCK
#define ticket_unlock ticket_leave
#endif
static int ticket_unlock(struct ticket *t) {
  atomic_fetch_add(&t->now, 1);
  return 0;
}
static inline __attribute__((always_inline)) bool ticket_trylock(struct ticket *t) {
  int now = atomic_load(&t->now);
  return atomic_compare_exchange_strong(&t->next, &now, now + 1);
}
static void *work(void *unused) {
  for (int i = 0; i < 2; i++) {
#ifdef TRIES
    if (!ticket_trylock(&lock))
      continue;
#else
    ticket_lock(&lock);
#endif
#ifdef TWICE
    ticket_lock(&lock);
#endif
    x++;
#ifdef FORGETS
    ticket_unlock(&lock);
    x++;
#else
    ticket_unlock(&lock);
#endif
  }
  return unused;
}
int main(void) {
  pthread_t thread, other;
  pthread_create(&thread, 0, work, 0);
  pthread_create(&other, 0, work, 0);
  pthread_join(thread, 0);
  pthread_join(other, 0);
#ifdef TRIES
  assert(x >= 1 && x <= 4);
#elif !defined(FORGETS)
  assert(x == 4);
#endif
  return 0;
}
