/* BROKEN: the reader looks at the version before it reads, and not after.
 *
 * A writer that comes in between is not noticed: half of what is read is old. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int version;  /* odd while somebody writes */
static atomic_int x, y;     /* always equal */

#define STORE(to, value) atomic_store_explicit(to, value, memory_order_release)
#define LOAD(from) atomic_load_explicit(from, memory_order_acquire)

static void *write_both(void *unused) {
  STORE(&version, 1);
  STORE(&x, 1);
  STORE(&y, 1);
  STORE(&version, 2);
  return unused;
}

int main(void) {
  pthread_t writer;
  pthread_create(&writer, NULL, write_both, NULL);
  int before, a, b;
  do {
    before = LOAD(&version);
    a = LOAD(&x);
    b = LOAD(&y);
  } while (before % 2);
  assert(a == b);  //~ fails
  pthread_join(writer, NULL);
  return 0;
}
