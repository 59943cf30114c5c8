// durable bytes=100
#include <landfall.h>
#include <string.h>
void f(char *end, const char *text, size_t n, size_t *length) {
  /*@*/memcpy(end, text, n);
  *length /*@before*/= n;
  lf_persist(length, sizeof *length);
}
