/* run: --heap */
#include <stdlib.h>
#include <string.h>
int main(void) {
  char *name = malloc(8);
  strcpy(name, "landfall");
  return name[0];
}
