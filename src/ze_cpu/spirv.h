/*
 * spirv.h - the SPIR-V instructions that this driver supports: name, opcode, and operand shape.
 *
 * Letters of a shape: t type of the result, r result, T type, v value, L label, F function, i any id, x word that may be
 * an id, n literal, s string, p pair of value and label. `*` repeats the letter before it, `?` makes it optional. An
 * instruction outside the table, or of another shape, fails the build of the module.
 */
#ifndef ZC_SPIRV_H
#define ZC_SPIRV_H

/* clang-format off */
#define ZC_SPIRV(X)                                                                                                   \
    X(Nop, 0, "") X(Undef, 1, "tr") X(SourceContinued, 2, "s") X(Source, 3, "nnn*") X(SourceExtension, 4, "s")        \
    X(Name, 5, "is") X(MemberName, 6, "ins") X(String, 7, "rs") X(Line, 8, "inn") X(Extension, 10, "s")               \
    X(ExtInstImport, 11, "rs") X(ExtInst, 12, "trinx*") X(MemoryModel, 14, "nn") X(EntryPoint, 15, "nisi*")           \
    X(ExecutionMode, 16, "inn*") X(Capability, 17, "n")                                                               \
    X(TypeVoid, 19, "r") X(TypeBool, 20, "r") X(TypeInt, 21, "rnn") X(TypeFloat, 22, "rn") X(TypeVector, 23, "rTn")   \
    X(TypeArray, 28, "rTv") X(TypeStruct, 30, "rT*") X(TypeOpaque, 31, "rs") X(TypePointer, 32, "rnT")                \
    X(TypeFunction, 33, "rTT*") X(TypeEvent, 34, "r") X(TypeForwardPointer, 39, "in")                                 \
    X(ConstantTrue, 41, "tr") X(ConstantFalse, 42, "tr") X(Constant, 43, "trnn*") X(ConstantComposite, 44, "trv*")    \
    X(ConstantNull, 46, "tr") X(SpecConstantTrue, 48, "tr") X(SpecConstantFalse, 49, "tr")                            \
    X(SpecConstant, 50, "trnn*") X(SpecConstantComposite, 51, "trv*") X(SpecConstantOp, 52, "trnx*")                  \
    X(Function, 54, "trnT") X(FunctionParameter, 55, "tr") X(FunctionEnd, 56, "") X(FunctionCall, 57, "trFv*")        \
    X(Variable, 59, "trnv?") X(Load, 61, "trvn*") X(Store, 62, "vvn*") X(CopyMemory, 63, "vvn*")                      \
    X(CopyMemorySized, 64, "vvvn*") X(AccessChain, 65, "trvv*") X(InBoundsAccessChain, 66, "trvv*")                   \
    X(PtrAccessChain, 67, "trvvv*") X(GenericPtrMemSemantics, 69, "trv") X(InBoundsPtrAccessChain, 70, "trvvv*")      \
    X(Decorate, 71, "inn*") X(MemberDecorate, 72, "innn*") X(DecorationGroup, 73, "r") X(GroupDecorate, 74, "ii*")    \
    X(GroupMemberDecorate, 75, "in*")                                                                                 \
    X(VectorExtractDynamic, 77, "trvv") X(VectorInsertDynamic, 78, "trvvv") X(VectorShuffle, 79, "trvvn*")            \
    X(CompositeConstruct, 80, "trv*") X(CompositeExtract, 81, "trvn*") X(CompositeInsert, 82, "trvvn*")               \
    X(CopyObject, 83, "trv")                                                                                          \
    X(ConvertFToU, 109, "trv") X(ConvertFToS, 110, "trv") X(ConvertSToF, 111, "trv") X(ConvertUToF, 112, "trv")       \
    X(UConvert, 113, "trv") X(SConvert, 114, "trv") X(FConvert, 115, "trv") X(ConvertPtrToU, 117, "trv")              \
    X(SatConvertSToU, 118, "trv") X(SatConvertUToS, 119, "trv") X(ConvertUToPtr, 120, "trv")                          \
    X(PtrCastToGeneric, 121, "trv") X(GenericCastToPtr, 122, "trv") X(GenericCastToPtrExplicit, 123, "trvn")          \
    X(Bitcast, 124, "trv")                                                                                            \
    X(SNegate, 126, "trv") X(FNegate, 127, "trv") X(IAdd, 128, "trvv") X(FAdd, 129, "trvv") X(ISub, 130, "trvv")      \
    X(FSub, 131, "trvv") X(IMul, 132, "trvv") X(FMul, 133, "trvv") X(UDiv, 134, "trvv") X(SDiv, 135, "trvv")          \
    X(FDiv, 136, "trvv") X(UMod, 137, "trvv") X(SRem, 138, "trvv") X(SMod, 139, "trvv") X(FRem, 140, "trvv")          \
    X(FMod, 141, "trvv") X(VectorTimesScalar, 142, "trvv") X(Dot, 148, "trvv") X(IAddCarry, 149, "trvv")              \
    X(ISubBorrow, 150, "trvv") X(UMulExtended, 151, "trvv") X(SMulExtended, 152, "trvv")                              \
    X(Any, 154, "trv") X(All, 155, "trv") X(IsNan, 156, "trv") X(IsInf, 157, "trv") X(IsFinite, 158, "trv")           \
    X(IsNormal, 159, "trv") X(SignBitSet, 160, "trv") X(LessOrGreater, 161, "trvv") X(Ordered, 162, "trvv")           \
    X(Unordered, 163, "trvv") X(LogicalEqual, 164, "trvv") X(LogicalNotEqual, 165, "trvv") X(LogicalOr, 166, "trvv")  \
    X(LogicalAnd, 167, "trvv") X(LogicalNot, 168, "trv") X(Select, 169, "trvvv")                                      \
    X(IEqual, 170, "trvv") X(INotEqual, 171, "trvv") X(UGreaterThan, 172, "trvv") X(SGreaterThan, 173, "trvv")        \
    X(UGreaterThanEqual, 174, "trvv") X(SGreaterThanEqual, 175, "trvv") X(ULessThan, 176, "trvv")                     \
    X(SLessThan, 177, "trvv") X(ULessThanEqual, 178, "trvv") X(SLessThanEqual, 179, "trvv")                           \
    X(FOrdEqual, 180, "trvv") X(FUnordEqual, 181, "trvv") X(FOrdNotEqual, 182, "trvv") X(FUnordNotEqual, 183, "trvv") \
    X(FOrdLessThan, 184, "trvv") X(FUnordLessThan, 185, "trvv") X(FOrdGreaterThan, 186, "trvv")                       \
    X(FUnordGreaterThan, 187, "trvv") X(FOrdLessThanEqual, 188, "trvv") X(FUnordLessThanEqual, 189, "trvv")           \
    X(FOrdGreaterThanEqual, 190, "trvv") X(FUnordGreaterThanEqual, 191, "trvv")                                       \
    X(ShiftRightLogical, 194, "trvv") X(ShiftRightArithmetic, 195, "trvv") X(ShiftLeftLogical, 196, "trvv")           \
    X(BitwiseOr, 197, "trvv") X(BitwiseXor, 198, "trvv") X(BitwiseAnd, 199, "trvv") X(Not, 200, "trv")                \
    X(BitReverse, 204, "trv") X(BitCount, 205, "trv")                                                                 \
    X(ControlBarrier, 224, "vvv") X(MemoryBarrier, 225, "vv")                                                         \
    X(AtomicLoad, 227, "trvvv") X(AtomicStore, 228, "vvvv") X(AtomicExchange, 229, "trvvvv")                          \
    X(AtomicCompareExchange, 230, "trvvvvvv") X(AtomicCompareExchangeWeak, 231, "trvvvvvv")                           \
    X(AtomicIIncrement, 232, "trvvv") X(AtomicIDecrement, 233, "trvvv") X(AtomicIAdd, 234, "trvvvv")                  \
    X(AtomicISub, 235, "trvvvv") X(AtomicSMin, 236, "trvvvv") X(AtomicUMin, 237, "trvvvv")                            \
    X(AtomicSMax, 238, "trvvvv") X(AtomicUMax, 239, "trvvvv") X(AtomicAnd, 240, "trvvvv") X(AtomicOr, 241, "trvvvv")  \
    X(AtomicXor, 242, "trvvvv") X(Phi, 245, "trp*") X(LoopMerge, 246, "LLn*") X(SelectionMerge, 247, "Ln")            \
    X(Label, 248, "r") X(Branch, 249, "L") X(BranchConditional, 250, "vLLn*") X(Switch, 251, "vLn*") X(Kill, 252, "") \
    X(Return, 253, "") X(ReturnValue, 254, "v") X(Unreachable, 255, "") X(LifetimeStart, 256, "vn")                   \
    X(LifetimeStop, 257, "vn") X(GroupAsyncCopy, 259, "trvvvvvv") X(GroupWaitEvents, 260, "vvv")                      \
    X(GroupAll, 261, "trvv") X(GroupAny, 262, "trvv") X(GroupBroadcast, 263, "trvvv") X(GroupIAdd, 264, "trvnv")      \
    X(GroupFAdd, 265, "trvnv") X(GroupFMin, 266, "trvnv") X(GroupUMin, 267, "trvnv") X(GroupSMin, 268, "trvnv")       \
    X(GroupFMax, 269, "trvnv") X(GroupUMax, 270, "trvnv") X(GroupSMax, 271, "trvnv")                                  \
    X(NoLine, 317, "") X(AtomicFlagTestAndSet, 318, "trvvv") X(AtomicFlagClear, 319, "vvv")                           \
    X(ModuleProcessed, 330, "s") X(ExecutionModeId, 331, "ini*") X(DecorateId, 332, "ini*")                           \
    X(GroupNonUniformElect, 333, "trv") X(GroupNonUniformAll, 334, "trvv") X(GroupNonUniformAny, 335, "trvv")         \
    X(GroupNonUniformAllEqual, 336, "trvv") X(GroupNonUniformBroadcast, 337, "trvvv")                                 \
    X(GroupNonUniformBroadcastFirst, 338, "trvv") X(GroupNonUniformBallot, 339, "trvv")                               \
    X(GroupNonUniformInverseBallot, 340, "trvv") X(GroupNonUniformBallotBitExtract, 341, "trvvv")                     \
    X(GroupNonUniformBallotBitCount, 342, "trvnv") X(GroupNonUniformBallotFindLSB, 343, "trvv")                       \
    X(GroupNonUniformBallotFindMSB, 344, "trvv") X(GroupNonUniformShuffle, 345, "trvvv")                              \
    X(GroupNonUniformShuffleXor, 346, "trvvv") X(GroupNonUniformShuffleUp, 347, "trvvv")                              \
    X(GroupNonUniformShuffleDown, 348, "trvvv") X(GroupNonUniformIAdd, 349, "trvnvv?")                                \
    X(GroupNonUniformFAdd, 350, "trvnvv?") X(GroupNonUniformIMul, 351, "trvnvv?")                                     \
    X(GroupNonUniformFMul, 352, "trvnvv?") X(GroupNonUniformSMin, 353, "trvnvv?")                                     \
    X(GroupNonUniformUMin, 354, "trvnvv?") X(GroupNonUniformFMin, 355, "trvnvv?")                                     \
    X(GroupNonUniformSMax, 356, "trvnvv?") X(GroupNonUniformUMax, 357, "trvnvv?")                                     \
    X(GroupNonUniformFMax, 358, "trvnvv?") X(GroupNonUniformBitwiseAnd, 359, "trvnvv?")                               \
    X(GroupNonUniformBitwiseOr, 360, "trvnvv?") X(GroupNonUniformBitwiseXor, 361, "trvnvv?")                          \
    X(GroupNonUniformLogicalAnd, 362, "trvnvv?") X(GroupNonUniformLogicalOr, 363, "trvnvv?")                          \
    X(GroupNonUniformLogicalXor, 364, "trvnvv?")                                                                      \
    X(PtrEqual, 401, "trvv") X(PtrNotEqual, 402, "trvv")                                                              \
    X(SubgroupShuffleINTEL, 5571, "trvv") X(SubgroupShuffleDownINTEL, 5572, "trvvv")                                  \
    X(SubgroupShuffleUpINTEL, 5573, "trvvv") X(SubgroupShuffleXorINTEL, 5574, "trvv")                                 \
    X(AssumeTrueKHR, 5630, "v") X(ExpectKHR, 5631, "trvv")                                                            \
    X(LoopControlINTEL, 5887, "n*") X(AliasDomainDeclINTEL, 5911, "ri?") X(AliasScopeDeclINTEL, 5912, "rii?")        \
    X(AliasScopeListDeclINTEL, 5913, "ri*")
/* clang-format on */

#define ZC_SPIRV_ENUM(name, number, shape) Op##name = number,
enum zc_spirv { ZC_SPIRV(ZC_SPIRV_ENUM) };

/* Enumerants of the specification (sections 3.7, 3.21, 3.27, 3.38) that this driver uses. */
enum { STORAGE_CONSTANT = 0, STORAGE_INPUT = 1, STORAGE_LOCAL = 4, STORAGE_GLOBAL = 5, STORAGE_FUNCTION = 7,
       STORAGE_GENERIC = 8 };
enum { DECORATION_SPEC_ID = 1, DECORATION_PACKED = 10, DECORATION_BUILTIN = 11, DECORATION_SATURATED = 28,
       DECORATION_PARAMETER = 38, DECORATION_ROUNDING = 39, DECORATION_LINKAGE = 41, DECORATION_ALIGNMENT = 44 };
enum { PARAMETER_BYVAL = 2, LINKAGE_IMPORT = 1, MODE_LOCAL_SIZE = 17, MODE_SUBGROUP_SIZE = 35, MODE_LOCAL_SIZE_ID = 38,
       MEMORY_VOLATILE = 1 };
enum { SCOPE_WORKGROUP = 2, SCOPE_SUBGROUP = 3 };
enum { GROUP_REDUCE, GROUP_INCLUSIVE, GROUP_EXCLUSIVE, GROUP_CLUSTERED };
enum { BUILTIN_GROUPS = 24, BUILTIN_GROUP_SIZE, BUILTIN_GROUP_ID, BUILTIN_LOCAL_ID, BUILTIN_GLOBAL_ID,
       BUILTIN_LOCAL_INDEX, BUILTIN_WORK_DIM, BUILTIN_GLOBAL_SIZE, BUILTIN_ENQUEUED_SIZE, BUILTIN_GLOBAL_OFFSET,
       BUILTIN_GLOBAL_INDEX, BUILTIN_SUBGROUP_SIZE = 36, BUILTIN_SUBGROUP_MAX, BUILTIN_SUBGROUPS,
       BUILTIN_ENQUEUED_SUBGROUPS, BUILTIN_SUBGROUP_ID, BUILTIN_SUBGROUP_LOCAL_ID, BUILTIN_SUBGROUP_EQ_MASK = 4416,
       BUILTIN_SUBGROUP_GE_MASK, BUILTIN_SUBGROUP_GT_MASK, BUILTIN_SUBGROUP_LE_MASK, BUILTIN_SUBGROUP_LT_MASK };
/* Not of the specification: the lower and upper half of the address of a launch's grid_barrier, of cooperative launches. */
enum { BUILTIN_GRID_BARRIER = 0xff00 };

#endif
