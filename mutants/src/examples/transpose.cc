// transpose.cc - transpose a matrix whose rows are distributed over the PEs, in C++: overloads select the routine by type.
//
//   usage: oshrun -n 4 transpose [ROWS PER PE]     default 64; prints one line for each type of element
#include <shmem.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

// A symmetric array; its construction and destruction are collective.
template <class T> class symmetric {
  public:
    explicit symmetric(std::size_t n) : data_(static_cast<T *>(shmem_malloc(n * sizeof(T))))
    {
        if (!data_)
            shmem_global_exit(1);
    }
    symmetric(const symmetric &) = delete;
    symmetric &operator=(const symmetric &) = delete;
    ~symmetric() { shmem_free(data_); }
    T &operator[](std::size_t i) { return data_[i]; }
    T *at(std::size_t i) { return data_ + i; }

  private:
    T *data_;
};

// This PE holds `rows` rows of a square matrix, rows * n_pes() wide. Each row is scattered: element j belongs to PE
// j / rows, into row j % rows there, at the column that is this row's number. Return whether the result is right.
template <class T> static bool transpose(std::size_t rows)
{
    const std::size_t me = static_cast<std::size_t>(shmem_my_pe()), n = static_cast<std::size_t>(shmem_n_pes());
    const std::size_t width = rows * n;
    symmetric<T> a(rows * width), b(rows * width);
    const auto value = [width](std::size_t i, std::size_t j) { return static_cast<T>((i * width + j) % 1000); };
    for (std::size_t r = 0; r < rows; r++)
        for (std::size_t j = 0; j < width; j++)
            a[r * width + j] = value(me * rows + r, j);
    for (std::size_t r = 0; r < rows; r++)
        for (std::size_t pe = 0; pe < n; pe++)
            shmem_iput(b.at(me * rows + r), a.at(r * width + pe * rows), static_cast<std::ptrdiff_t>(width), 1, rows,
                       static_cast<int>(pe));
    shmem_barrier_all();
    bool right = true;
    for (std::size_t r = 0; r < rows; r++)
        for (std::size_t j = 0; j < width; j++)
            right = right && b[r * width + j] == value(j, me * rows + r);
    shmem_barrier_all(); // before the arrays are freed
    return right;
}

int main(int argc, char **argv)
{
    shmem_init();
    const std::size_t rows = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64;
    const std::pair<const char *, bool (*)(std::size_t)> types[] = {
        {"double", transpose<double>}, {"float", transpose<float>}, {"short", transpose<short>}, {"long long", transpose<long long>}};
    static int wrong, all_wrong;
    for (const auto &type : types) {
        wrong = !type.second(rows);
        shmem_sum_reduce(SHMEM_TEAM_WORLD, &all_wrong, &wrong, 1);
        if (shmem_my_pe() == 0)
            std::printf("%s: %s\n", type.first, all_wrong ? "WRONG" : "right");
    }
    shmem_finalize();
    return all_wrong != 0;
}
