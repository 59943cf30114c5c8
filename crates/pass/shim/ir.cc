// What LLVM's C interface lacks: splitting blocks, moving instructions, debug positions in full.
#include <cstdint>
#include <cstring>
#include <llvm-c/Core.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <string>

using namespace llvm;

namespace {

// Declarations of classes and namespaces around a function, outermost first: "ns::Queue::".
std::string qualifiers(const DIScope *scope) {
  std::string text;
  for (; scope && (isa<DIType>(scope) || isa<DINamespace>(scope)); scope = scope->getScope())
    if (!scope->getName().empty())
      text = scope->getName().str() + "::" + text;
  return text;
}

std::string path_of(const DIScope *scope) {
  StringRef file = scope->getFilename(), directory = scope->getDirectory();
  if (file.empty() || file.front() == '/' || file.front() == '<' || directory.empty())
    return file.str();
  SmallString<256> path(directory);
  sys::path::append(path, file);
  // Not "..": it may follow a symbolic link.
  sys::path::remove_dots(path, /*remove_dot_dot=*/false);
  return std::string(path);
}

// Headers that came with the compiler or the system.
bool is_system(StringRef file) {
  return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
         file.contains("/include/c++/") || file.contains("/lib/clang/");
}

// What was inlined from a system header is reported where the program asked for it.
const DILocation *outside_system(const DILocation *location) {
  const DILocation *outer = location;
  while (outer && is_system(path_of(outer->getScope())))
    outer = outer->getInlinedAt();
  return outer ? outer : location;
}

} // namespace

extern "C" {

// Splits the block before `at`: `then` and `otherwise` receive the ends of the two new blocks.
void lf_shim_split(LLVMValueRef at, LLVMValueRef condition, LLVMValueRef *then,
                   LLVMValueRef *otherwise) {
  Instruction *a = nullptr, *b = nullptr;
  SplitBlockAndInsertIfThenElse(unwrap(condition), unwrap<Instruction>(at)->getIterator(), &a, &b);
  *then = wrap(a);
  *otherwise = wrap(b);
}

// Splits the block before `at` and returns the end of a new block entered, rarely, when `condition` holds.
LLVMValueRef lf_shim_split_rare(LLVMValueRef at, LLVMValueRef condition) {
  Instruction *before = unwrap<Instruction>(at);
  MDNode *weights = MDBuilder(before->getContext()).createBranchWeights(1, 1 << 20);
  return wrap(SplitBlockAndInsertIfThen(unwrap(condition), before->getIterator(),
                                        /*Unreachable=*/false, weights));
}

void lf_shim_move_before(LLVMValueRef instruction, LLVMValueRef at) {
  unwrap<Instruction>(instruction)->moveBefore(unwrap<Instruction>(at));
}

// The first place of the entry block behind all allocas of fixed size, which are gathered there:
// splitting the block above one of them would turn it into a dynamic alloca.
LLVMValueRef lf_shim_entry_point(LLVMValueRef function) {
  BasicBlock &entry = unwrap<Function>(function)->getEntryBlock();
  Instruction *point = nullptr;
  for (Instruction &instruction : make_early_inc_range(entry)) {
    auto *local = dyn_cast<AllocaInst>(&instruction);
    if (local && isa<ConstantInt>(local->getArraySize())) {
      if (point)
        local->moveBefore(point);
    } else if (!point && !isa<DbgInfoIntrinsic>(&instruction)) {
      point = &instruction;
    }
  }
  return wrap(point);
}

struct lf_shim_position {
  uint32_t line, column;
};

// Source position of an instruction. The texts go to `sink` (file, then function).
lf_shim_position lf_shim_position_of(LLVMValueRef value, void *context,
                                     void (*sink)(void *, const char *, size_t)) {
  const Instruction *instruction = unwrap<Instruction>(value);
  const Function *function = instruction->getFunction();
  const DILocation *location = outside_system(instruction->getDebugLoc().get());
  const DISubprogram *subprogram =
      location ? location->getScope()->getSubprogram() : function->getSubprogram();
  std::string file, name;
  if (location)
    file = path_of(location->getScope());
  else if (subprogram)
    file = path_of(subprogram);
  else
    file = function->getParent()->getSourceFileName();
  if (subprogram && !subprogram->getName().empty())
    name = qualifiers(subprogram->getScope()) + subprogram->getName().str();
  else
    name = function->getName().str();
  sink(context, file.data(), file.size());
  sink(context, name.data(), name.size());
  if (location && location->getLine())
    return {location->getLine(), location->getColumn()};
  // What the compiler made up itself belongs to the function as a whole.
  return {subprogram ? subprogram->getLine() : 0, 0};
}

// A function's name as the source has it, and the file it is defined in; returns the line.
uint32_t lf_shim_function(LLVMValueRef value, void *context, void (*sink)(void *, const char *, size_t)) {
  const Function *function = unwrap<Function>(value);
  const DISubprogram *subprogram = function->getSubprogram();
  std::string file = subprogram ? path_of(subprogram) : function->getParent()->getSourceFileName();
  std::string name = demangle(function->getName());
  sink(context, name.data(), name.size());
  sink(context, file.data(), file.size());
  return subprogram ? subprogram->getLine() : 0;
}

// Makes a function nothing but a call of a hook with its first argument, a pointer. What the hook answers, 0 where all is well, is
// what it returns; a bool says that all is well. It is inlined, and has no lines of its own: the places are its callers'.
bool lf_shim_becomes_call(LLVMValueRef value, const char *hook, size_t length) {
  Function *function = unwrap<Function>(value);
  Type *result = function->getReturnType();
  if (function->arg_empty() || !function->getArg(0)->getType()->isPointerTy() ||
      (!result->isVoidTy() && !result->isIntegerTy()))
    return false;
  GlobalValue::LinkageTypes linkage = function->getLinkage();
  Comdat *group = function->getComdat();
  function->deleteBody();
  function->setLinkage(linkage);
  function->setComdat(group);
  for (Attribute::AttrKind kind : {Attribute::NoInline, Attribute::OptimizeNone, Attribute::Memory})
    function->removeFnAttr(kind);
  function->addFnAttr(Attribute::AlwaysInline);
  LLVMContext &context = function->getContext();
  IRBuilder<> builder(BasicBlock::Create(context, "", function));
  FunctionCallee callee = function->getParent()->getOrInsertFunction(
      StringRef(hook, length), builder.getInt32Ty(), builder.getPtrTy());
  Value *status = builder.CreateCall(callee, {function->getArg(0)});
  if (result->isVoidTy())
    builder.CreateRetVoid();
  else if (result->isIntegerTy(1))
    builder.CreateRet(builder.CreateICmpEQ(status, builder.getInt32(0)));
  else
    builder.CreateRet(builder.CreateZExtOrTrunc(status, result));
  return true;
}

uint32_t lf_shim_rmw_operation(LLVMValueRef rmw) {
  return unwrap<AtomicRMWInst>(rmw)->getOperation();
}

bool lf_shim_may_access_memory(LLVMValueRef instruction) {
  return unwrap<Instruction>(instruction)->mayReadOrWriteMemory();
}

void lf_shim_say(const char *line, size_t length) { errs() << StringRef(line, length) << '\n'; }

// Prints what is wrong and returns false when the module is no longer valid IR.
bool lf_shim_verify(LLVMModuleRef module) { return !verifyModule(*unwrap(module), &errs()); }
}
