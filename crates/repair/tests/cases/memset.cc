// durable bytes=100
#include <cstring>
#include <landfall.h>
struct entry { char name[64]; };
void f(entry *e) {
  if (e)
    /*@*/std::memset(e, 0, sizeof(entry));
}
