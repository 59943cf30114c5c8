// Generated code: positions follow #line, and code without a position still has a record.
#include "pm.h"

int main(void) {
  int *p = pm(0);
#line 100 "grammar.y"
  *p = 1;
#line 200 "/abs/lexer.l"
  *p = 2;
  return 0;
}
