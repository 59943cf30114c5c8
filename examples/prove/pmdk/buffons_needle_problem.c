/* buffons_needle_problem: non-atomic stores to struct my_root. */
#include "pmdk.h"

struct my_root {
  int32_t point;
  int32_t hits;
  LINE int32_t thrown;
};

int main(void) {
  struct my_root *root = lf_pm(sizeof *root);
  if (lf_failures() > 0) {
    SEE(root->hits);
    SEE(root->thrown);
    return 0;
  }
  for (int i = 1; i <= 3; i++) {
    root->hits += i % 2; //~ lost
    DURABLE(root->hits);
    root->thrown = i; //~ kept
    DURABLE(root->thrown);
  }
  lf_persist(root, sizeof *root);
  return 0;
}
