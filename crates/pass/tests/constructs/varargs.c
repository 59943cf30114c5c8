// Variable arguments: the list itself is no business of persistent memory.
#include "pm.h"
#include <stdarg.h>

static void fill(int count, ...) {
  va_list list, again;
  va_start(list, count);
  va_copy(again, list);
  for (int i = 0; i < count; i++)
    ((long *)pm(0))[i] = va_arg(list, long);
  va_end(list);
  *(double *)pm(128) = (double)va_arg(again, long);
  va_end(again);
}

int main(void) {
  fill(8, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
  return 0;
}
