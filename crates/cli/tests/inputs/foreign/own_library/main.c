#include "record.h"
#include <assert.h>
#include <landfall.h>
#include <string.h>

int main(void) {
  struct record *record = lf_pm(sizeof *record);
  if (record->valid)
    assert(strcmp(record->name, "Ada") == 0);
  put(record, "Ada");
  return 0;
}
