/* Locks that spin, each proved outright: no bound of rounds is left over. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int word, next, now;
static int counter;

#if defined TICKET
static void lock(void) {
  int mine = atomic_fetch_add(&next, 1);
  while (atomic_load(&now) != mine)
    ;
}
static void unlock(void) { atomic_store(&now, atomic_load(&now) + 1); }
#elif defined TTAS
static void lock(void) {
  do
    while (atomic_load(&word))
      ;
  while (atomic_exchange(&word, 1));
}
static void unlock(void) { atomic_store(&word, 0); }
#elif defined SWAP
static void lock(void) {
  int free_ = 0;
  while (!atomic_compare_exchange_weak(&word, &free_, 1)) free_ = 0;
}
static void unlock(void) { atomic_store(&word, 0); }
#elif defined BROKEN
static void lock(void) {
  while (atomic_load(&word))
    ;
  atomic_store(&word, 1);
}
static void unlock(void) { atomic_store(&word, 0); }
#else
static void lock(void) {
  while (atomic_exchange(&word, 1))
    ;
}
static void unlock(void) { atomic_store(&word, 0); }
#endif

static void *work(void *unused) {
  lock();
  counter++;
  unlock();
  return unused;
}

int main(void) {
  pthread_t other[2];
  (void)next, (void)now, (void)word;
  for (int i = 0; i < 2; i++) pthread_create(&other[i], NULL, work, NULL);
  work(NULL);
  for (int i = 0; i < 2; i++) pthread_join(other[i], NULL);
  assert(counter == 3);
  return 0;
}
