// With --pm-heap it is malloc that decides what shares a line.
// check: --pm-heap
// exit: 0
// says: also with the persistent heap's blocks moved by 16, 32 and 48 bytes
#include <assert.h>
#include <landfall.h>
#include <stdlib.h>
struct item {
  long value;
};
struct list {
  struct item *items[4];
};
int main(void) {
  struct list **root = (struct list **)lf_root(0);
  if (lf_failures()) {
    if (*root)
      assert((*root)->items[3]->value == 3);
    return 0;
  }
  struct list *list = malloc(sizeof *list);
  for (int i = 0; i < 4; i++) {
    list->items[i] = malloc(sizeof(struct item));
    list->items[i]->value = i;
  }
  lf_persist(list, sizeof *list);
  __atomic_store_n(root, list, __ATOMIC_RELEASE);
  lf_persist(root, sizeof *root);
  return 0;
}
