/* plot.h - oshinfo --plot: plot statistics and traces. */
#ifndef OSHINFO_PLOT_H
#define OSHINFO_PLOT_H

/* Plot the n files as SVG, or by rsvg-convert as PNG when the name ends in .png. Returns the exit status, after one line on
 * stderr when it is not 0. */
int plot(const char *picture, char **paths, int n);

#endif
