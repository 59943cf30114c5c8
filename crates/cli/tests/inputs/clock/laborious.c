/* Thousands of stores in a row: the question alone takes minutes to write down. */
#include <assert.h>
#include <landfall.h>

struct root {
  long length;
  long values[64];
};

int main(void) {
  struct root *root = lf_pm(sizeof *root);
  if (lf_failures()) {
    for (long i = 0; i < root->length; i++)
      assert(root->values[i & 63] != 0);
    return 0;
  }
  for (long i = 0; i < 2000; i++) {
    root->values[i & 63] = i + 1;
    lf_persist(&root->values[i & 63], 8);
    root->length = i & 63;
    lf_persist(&root->length, 8);
  }
}
