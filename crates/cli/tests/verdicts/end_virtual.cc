// A pointer to the functions of a class is of the run that stored it. And the one to the derived class' is lost: a function is called that the base
// does not have.
// check: --checks crash
// exit: 100
// finds: volatile-pointer to its code or variables
// check: --checks crash -DALIVE
// exit: 100
// finds: volatile-pointer to its code or variables
// check: --checks crash -DTERMINATE
// exit: 100
// finds: abort std::terminate is called, and not for an exception
// check: --checks crash -DTHROW
// exit: 100
// finds: abort uncaught exception int
#include <exception>
#include <landfall.h>
#include <new>
struct Shape {
  Shape();
  virtual int corners() = 0;
};
struct Triangle : Shape {
  Triangle() {
#ifdef ALIVE
    lf_persist(this, sizeof *this);
#endif
  }
  int corners() override { return 3; }
};
Shape::Shape() { lf_persist(this, sizeof *this); }
int main() {
  Shape **root = (Shape **)lf_root(0);
  if (lf_failures()) {
    if (*root) {
#ifdef TERMINATE
      std::terminate();
#elif defined THROW
      throw 1;
#endif
      (*root)->corners();
    }
    return 0;
  }
  Triangle *triangle = new (lf_alloc(64)) Triangle();
  __atomic_store_n(root, (Shape *)triangle, __ATOMIC_RELEASE);
  lf_persist(root, sizeof *root);
}
