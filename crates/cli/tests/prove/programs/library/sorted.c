// The program's own function compares, and may look at what threads left.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct entry {
  int key;
  long value;
};

static struct entry entries[4] = {{3, 30}, {1, 10}, {2, 20}, {0, 0}};

static int by_key(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
#ifdef BACKWARDS
  return y->key - x->key;
#else
  return x->key - y->key;
#endif
}

static void *writer(void *argument) {
  struct entry *entry = argument;
  entry->key += 4;
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, writer, &entries[3]);
  pthread_join(thread, NULL);
  qsort(entries, 4, sizeof *entries, by_key);
  assert(entries[0].key == 1 && entries[3].key == 4);
  for (int i = 1; i < 4; i++)
    assert(entries[i - 1].key < entries[i].key);
  assert(entries[1].value == 20);
}
