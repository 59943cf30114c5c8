/* Nodes that count on the ones before them, all flushed at the end. */
#include <assert.h>
#include <landfall.h>

struct node {
  _Alignas(64) long value;
};

int main(void) {
  struct node *nodes = lf_pm(4 * sizeof *nodes);
  for (int i = 1; i < 4; i++)
    assert(!nodes[i].value || nodes[i - 1].value);
  for (int i = 0; i < 4; i++)
    nodes[i].value = i + 1;
  lf_persist(nodes, 4 * sizeof *nodes);
  return 0;
}
