// durable bytes=100
#include <landfall.h>
#include <string.h>
struct entry { char name[64]; };
void f(struct entry *e, const char *text) {
  /*@*/strcpy(e->name, text);
  lf_persist(e, 1);
}
