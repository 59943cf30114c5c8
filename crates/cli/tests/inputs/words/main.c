#include "store.h"
#include <assert.h>
#include <landfall.h>

int main(void) {
  struct table *table = lf_pm(sizeof *table);
  for (int i = 0; i < table->count; i++) {
    assert(table->slots[i].key == i + 1);
    assert(table->slots[i].value == i * 10);
    assert(table->slots[i].length == 8);
  }
  for (long i = table->count; i < 3; i++)
    put(table, i + 1, i * 10);
  return 0;
}
