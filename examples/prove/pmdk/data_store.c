/* data_store: non-atomic stores in insert_rand_items. Any value is inserted, wherever its key says. */
#include "pmdk.h"

struct item {
  LINE uint64_t key;
  LINE uint64_t value;
};

static void insert_rand_items(struct item *items, int count) {
  for (int i = 0; i < count; i++) {
    uint64_t random = lf_nondet();
    struct item *item = &items[random % 4];
    item->key = random; //~ lost
    DURABLE(item->key);
    item->value = random + 1; //~ kept
    DURABLE(item->value);
    lf_persist(item, sizeof *item);
  }
}

int main(void) {
  struct item *items = lf_pm(4 * sizeof *items);
  if (lf_failures() > 0) {
    for (int i = 0; i < 4; i++) {
      SEE(items[i].key);
      SEE(items[i].value);
    }
    return 0;
  }
  insert_rand_items(items, 2);
  return 0;
}
