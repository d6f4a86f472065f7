/* plot.h - oshinfo --plot: a picture of what a job did. */
#ifndef OSHINFO_PLOT_H
#define OSHINFO_PLOT_H

/* Draw the statistics and traces in paths[n] as SVG, or as PNG where rsvg-convert is installed and the name ends in .png.
 * The exit status; what went wrong has been said. */
int plot(const char *picture, char **paths, int n);

#endif
