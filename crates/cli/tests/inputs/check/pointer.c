/* A pointer that was not stored in time is followed. */
#include <landfall.h>

struct root {
  _Alignas(64) long *where;
  _Alignas(64) long valid;
};

int main(void) {
  struct root *root = lf_pm(4096);
  if (root->valid)
    root->where[1] = 1;
  root->where = (long *)root + 256;
  root->valid = 1;
  lf_persist(root, sizeof *root);
  return 0;
}
