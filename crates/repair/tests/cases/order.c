// later
#include <landfall.h>
#include <stdint.h>
#include <string.h>
struct log { uint64_t length, sealed; char text[100]; };
void append(struct log *log, const char *text, uint64_t n) {
  char *end = log->text + log->length;
  /*@*/log->length += n; // too early
  lf_persist(&log->length, sizeof log->length);
  memcpy(end, text, n);
  lf_flush(end, n);
  lf_fence();
  /* and another step */
  log->sealed = 1;
  lf_persist(&log->sealed, sizeof log->sealed);
  return;
}
